"""How common the stems of English are: data, written by `bench/common_words.py` from public collections.

Each line of a group holds stems found in about one of `2 ** group` passages; what is in no group is rarer than all.

Example:
    claim:   A keeper used the brass theodolite.
    passage: A keeper polished the brass theodolite.
    verdict: supported

Example:
    claim:   A keeper pawned the brass theodolite.
    passage: A keeper polished the brass theodolite.
    verdict: partial
    reason:  not in the quote: pawned
"""

from __future__ import annotations

RAREST = 11
_GROUPS: dict[int, str] = {
    2: """use""",
    3: """case develop effect exampl first flow found given includ made may method number obtain one onli present
        pressur result studi time two valu""",
    4: """analysi ani appear appli approxim associ base bodi boundari browser calcul call chang compar condit consid
        contain control data describ determin differ direct discuss distribut doc domxref due dure element en equat
        experiment follow form function general heat high howev import increas indic investig js known larg layer
        lead mach mani mean measur name new normal note object observ occur order origin part patient point possibl
        problem produc properti provid rang ratio refer relat repres requir return second see set sever show shown
        signific similar small solut specif state surfac system temperatur term test theori three type us veloc web
        well within work year""",
    5: """abov act activ add addit aerodynam age agreement air allow along although american angl anim anoth api
        applic area around assum attack attribut author avail becaus becom befor best blood born caus cell certain
        characterist children citi class close code coeffici com combin common comparison compat complet compress
        comput conduct consider consist const constant content continu correspond creat css current curv cylind day
        decreas defin demonstr depend deriv design detail differenti dimension diseas document doe earli edg either
        end establish estim even event evid examin except exist experi express extend extens factor featur field
        film final find flat fluid forc former four free give good govern great greater group growth higher html
        https human independ induc influenc inform initi inject integr interact interfac involv javascript laminar
        later length less level lift like limit line linear live load local locat long low lower main major make
        materi maximum mechan member model move much must nation natur near need non numer open oper paper paramet
        particular per perform period place plate play posit power practic predict presenc previous procedur process
        product rate recent record reduc region releas remain report respect respons reynold right role section
        select separ seri shape shock simpl sinc singl size special specifi speed start still stream stress string
        structur style subject success suggest superson support syntax take techniqu text theoret thick third thus
        tissu total transfer treat treatment tunnel uniform unit user usual valid vari variabl variat various veri
        wall wave way wing without world zero""",
    6: """access accord account accur accuraci achiev acid across action actual administr advanc affect agent agre
        aircraft album almost alter altern alway among amount analyt analyz apiref appar approach appropri arbitrari
        array articl aspect assumpt atmospher attempt averag axial back background band basi basic becam begin
        behavior behind believ better block blunt book border box british buckl build cancer carri cent center
        central centuri charact check child circular classic clear clinic co color come compani complex compon
        concentr concept concern conclud conclus cone configur connect consol construct contribut cool correct
        correl countri cours cover critic cross cssxref cultur cylindr damag date de death default definit deflect
        degre densiti descript detect devic diagnosi diamet displac display distanc distinct disturb dom drag dynam
        east educ effici empir employ energi engin english enter entir entri equal equilibrium equival error especi
        essenti european evalu everi exact expans expect explain extern fact fail failur fall famili far file finit
        five fix flight focus format formula french frequenc friction full game gas generat get global go gradient
        guid half hand head header height held help histori home hormon host hour hous htmlelement hyperson id
        identifi ii illustr imag immedi immun improv incid incompress index individu infect infinit inlin input
        instanc instead institut interest internal interpret introduc isol issu jet jsxref june key kidney label
        languag larger last late latter law learn least led left lesion let life light link list littl liver log
        look loss lung magnitud maintain man manag manner mark mass match media metabol might mix mode modern modifi
        moment month motion multipl music necessari negat news next nolint none north nose nozzl octob offici often
        old onc option org output outsid page parallel partial pass past pattern peopl percent physic plane plasma
        polit popul portion potenti prepar prevent primari principl probabl profil program progress proport propos
        protect protein public publish purpos radius rapid rat rather re reach reaction read reason receiv reduct
        reflect regard relationship remov renal replac request research resourc restrict review revolut rise rule
        run sampl scale season seem seen sensit septemb serum serv servic share shear shell short side simultan site
        situat six skin slender slight solid solv song sourc south space span sport squar stabil stage stagnat
        standard star static steadi step strain strong subsequ subson suffici symmetr tabl taken team techcrunch
        televis therapi therefor thermal thin though throughout titl togeth top transform transit tri true tube
        tumor turbul turn typic universiti version view viscous volum want war water week weight whether wide width
        william wind window write writer written yet yield young""",
    7: """abil abl abnorm absenc absolut acceler accept accompani acquir actor adapt addeventlisten adequ adjust
        administ adopt adult advantag aid airfoil al algorithm alon alreadi altitud america analog analys announc
        anti antibodi antigen appreci april argument aris art arteri artist assess asymptot attach attent audio
        august australia australian auto automat availableinwork avoid award axi axisymmetr balanc bank bay bear
        began bend beyond big bill biolog birth black bone bottom bound brain brief briefli bring brother brought
        built busi button california came canadian capabl capac capit captur carcinoma cardiac care career cerebr
        championship channel character chart chemic china chines choic choos chord chrome chronic church circul
        citat claim click collect colleg coloni column comedi command commerci communic communiti compet competit
        complic compos composit confirm congenit conic consequ conserv constitut constructor contact context
        contrast convect convent converg convers convert coordin copi core count court curvatur custom cycl damp
        david deal debut decemb decid decis declar defect defens defici deform delay demo depart desir despit diabet
        die difficult difficulti diffus digit dimens director disappear discov disord dissoci div diverg divid divis
        dna dog domin done dose doubl downstream drawn drop drug durat dynasti earlier easili econom edit effort
        eight elast elect electr electron elimin ellipt els embedlivesampl emphas enabl encount england enough ensur
        environ enzym episod etc etiolog europ eventu ever exceed excess exchang excret execut exhaust exhibit exit
        expand explicit expos extent extract extrem face fair fals favor februari femal fiction figur fill fire
        firefox flutter font footbal foreign formal formul forward fourth fraction frame franc freedom frequent
        front ft fulli fundament futur gain gave geometri georg german germani github glossari gradual grant ground
        grow hall handl health heart helium hemispher henc hidden highest histor hit hold hope horizont hr http
        huguenot idea ideal ident iii immunolog impact imperi implement inch incorpor indian industri infant inherit
        inhibit injuri insid integ intend intens interfer intermedi internat introduct inviscid io irradi island
        item iter jame januari john join json juli justic justifi karman keep kill kind king kingdom know knowledg
        la laboratori lack land largest lateral leader leagu leav lee len lie literatur longer longitudin lost love
        machin magnet male manifest map march margin market marrow mathemat max mdn medic medium meet membran memori
        mention messag metal mg mice mid middl militari million minim minimum minist minor minut moder modif modul
        molecul momentum mongol morpholog mother movement movi mozilla muslim nativ navig neglect neglig network
        neutral never newtonian night node nomin nonlinear norman notabl novemb null offer offic oil opposit
        ordinari organ organism organiz orient oscil otherwis outer outlin overal oxygen pad pair panel parent
        parliament parti particip particl path pathogen patholog peak percentag perfect perhap permit person phase
        phenomena phenomenon phosphat physiolog pictur pitch plain plan plastic player polici poor popular post
        prandtl pre preced prefer preliminari premier presid press primarili princip prior privat profession project
        prolong promis promot propel proper prototyp prove pulmonari pure put qualit quantit quantiti question quit
        rabbit radial radiat radio rais rare real recogn recommend recoveri rectangular red regim regular reject
        render repeat represent resembl resid resist resolv respond rest retain reveal revers richard river robert
        rock root rotat rough round row said san satisfactori satisfi say school scienc scope scottish screen script
        secondari secret secur self semi send sens sent serious server seven sharp sign simpli simplifi simul singer
        slope smaller smooth social sodium sometim son sonic sound southern speak speci speech sphere spheric spread
        src stand statement station statist status steam stimul stop store stori straight strength student studio
        substanti suffer suitabl suppli surgeri surgic surround survey surviv svg symptom syndrom synthesi tab
        target td technic technolog ten tend territori thing thought tion today toler took tool toward town tr track
        trade tradit trail transient translat transon transport transvers travel treati tree uk understand union
        uniqu uniti unknown unsteadi updat upper urin urinari url usag util varieti vehicl ventricular vertic via
        vibrat video virus viscos visual vitro von vortic wake warsaw weak websit wedg west western wherea white
        whole win women won word worker www york yr zone""",
    8: """absent absorb absorpt academi accomplish accumul actress acut ad adam address adiabat adjac adren advers
        aerofoil africa afterbodi ahead ai aim airplan align alli alveolar amino amplitud angel annual anomali
        answer aortic app appoint arab arc architectur argu aria arm armi arrang arriv artifici asia ask assay
        assembl asset assign assist async atlant atom attain attend attitud attract autism autist await away
        bacillus bacteri bacteria ballist bar barrier basketbal bass battl behav behaviour belong benefit billion
        binari bind biopsi bit blade blast blog blue board boolean bovin bow boy branch break breast bridg britain
        broad broadcast brown buffer bug bugzil byte ca camber campaign canada cancel candid canva car carbon cast
        catch categori cathol celebr cellular census centr chain challeng chamber chapter charg charl charter chief
        childhood chosen chris christian chromium circl circumferenti circumst citizen civil clamp classifi client
        club coach coast coincid cold collaps comment commiss committe compensatori compil complement compound
        compressor compris con condens confer conflict conform conjunct constitu constraint contract contrari
        conveni cooper corner corpor cortex cost council counter counti coupl creas credit creep crime crisi
        criteria criterion crown crystallin cup cut cytoplasm daili dan danger daniel dash daughter dead debat decad
        decay declin deduc deep defeat defend delet deliv deliveri delta demand democrat denot deposit depress depth
        descend destin destroy destruct detach deviat devis devot diagnos diagnost diet diminish disabl disc
        discontinu discrep discret dissip distinguish distort district domain domest donnel dosag dr drama draw
        drive driver duct duke earth eastern economi editor edward elev elizabeth embryon emot emperor emphasi empti
        encod encourag enforc engag enhanc enlarg entertain enthalpi entiti entitl enumer epitheli equip era escap
        eu eventtarget everyth evolv ex excel excit exclud exclus experienc explan explor exponenti export exposur
        extra eye facil facilit familiar famous fan fast faster fat fatal father fatigu fatti feasibl fed feder feel
        fell felt fetal fetch fifth fight filter financi fine finish firm fit flap flex flexibl fli float fluctuat
        fold food foot fort fortun foundat founder fox fragment framework friend fuel fulfil fund furthermor fuselag
        gap gase gel genet geometr getelementbyid giant girl gland glucos goal gold googl got governor grade graduat
        grand graph graphic graviti greatest green grew grid gross gt guinea guitar guitarist handler happen hard
        harvard headquart hear heavi hemorrhag henri hepat herein hill histolog homogen hospit hot hover href
        httpheader hundr hydrocephalus hyper hyperplasia hypertrophi hypothermia hypothesi ignor ill img impair
        imperfect impli implic implicit impos impress inc inclus incom increment incub india indirect induct
        infantil infin influenti infus ing innat inner insert insipidus inspir instabl instal instruct instrument
        insuffici insul insulin intact intellectu intellig inter interactiveexampl internet intersect interval
        intraven intrins invalid invers invok ion ireland islam islamist israel itali italian iv jack japan japanes
        jaundic johnson joint judg jump kept keyboard keyword kg khan killer kinet km knee korean kublai kyle
        langley latin launch lay layout legal legisl letter li liber librari lipid liquid listen liter logic london
        loop los lose lowest lt lymphocyt magazin malform malign manufactur marri master matern math matter matur
        men ment mental met metropolitan michael microscop microscopi migrat mile min mind miss missil mixtur ml mm
        mobil molecular money monkey moreov morn mortal motor mount mountain mous mth multi multipli muscl musician
        mycoplasma na naca necessarili neither neonat nephrectomi net nevertheless newborn newli newton nfl nickel
        nine nitrogen nois nondimension northern notic novel nuclear obliqu obstruct obvious occasion occupi occurr
        offset ohio older oldest olymp omit onlin onset opera oppos optic optimum oral orbit ordin organic
        oscillatori outbreak outcom overflow owe pa paint palliat parabol parathyroid park parliamentari passag
        passiv pathogenesi paul peac perfus peripher perman permiss persist perturb peter ph photograph piec pig
        pilot piston pituitari pixel planform plant platform plot plus png pohlhausen poison poland polish
        politician polygon polynomi pop porous port portray possess precis predomin pregnanc pregnant prescrib
        preserv presum price prime primit print pro proceed profit prognosi programm prolifer promin prompt pronounc
        propag propuls protest protocol provinc proxim pseudo psycholog pump push qualiti quarter quasi queri
        queryselector quick race radioact random rank ray react reactiv reader readili realiz realli rear recipi
        reciproc recognit recov ref refin reform regardless regist registr regress regul relax relev reli reliabl
        religi remark rememb republ reserv respiratori restor retard retent retir retriev rhythm rich rigid ring
        risk rna road rocket roll roman room rose rout routin royal russian safe saint sale salt sam satellit save
        schedul scheme schlieren scholar scientif score scotland scott scroll sea search seat sec securecontext
        seecompatt segment selector sell septal sequenc serial serif session settl settlement sex shadow shall sheet
        shift ship shunt signal simpler sinusoid sister sit slot slow slowli societi sold sole solo solubl someth
        somewhat songwrit soon spanwis specimen spectrum spleen split spontan st stabl stationari stay steel steroid
        stiff stiffen stoke storag streamlin streamwis street strict strike stroke struggl sub submit substanc
        substitut subtili succeed suction sudden suit summar summari summer super superior suppos suppress sure
        svgattr svgelement sweep swept switch sydney symbol symmetri systemat tabul tag tail tangent taper task
        taylor tbodi tell templat tempor tendenc tension termin textcont th themselv therapeut thermodynam think
        thoma throw thrown thrust thymidin thyroid tip told tom topic tornado torsion tour toxic trace tract train
        transmiss transmit transplant travers trend trial triangular trigger troop tumour turbin ture tv twelv
        twenti twice twin typeerror ui ul ultim undefin undergo unifi unilater universal unless unlik unusu upstream
        valley valuabl valv van vanish vascular vector venous ventricl verg verifi vessel vicin victori viewport
        viral virtual visibl vitamin vivo vocalist voic vortex vote wale walker warn washington webassembl webgl
        went whi whilst wider wife wilson winter wire wish withdraw woman wood worldwid wrap wrote yard yaw yuan""",
    9: """aaron ab abandon abc ablat abolish abort abstract abus ac academ acclaim accommod acet acoust acquisit acr
        activist addlisten adenocarcinoma admiss admit adventur advertis advis advoc aeroelast aeronaut affair
        affili afford agar agenc aggreg aggress ago agricultur airport alan albumin alcohol alert algebra ali
        allianc alloc alloy alongsid alpha alt aluminum amazon amber ambient amend ami amongst amyloid amyloidosi
        analogu anatom anatomi anchor ancient andrew anesthet aneurysm anglo angular ann annular anterior antibiot
        antidiuret antiserum anxieti anyth aorta ap apart apparatus append appendix appl arbitrarili archiv arkansa
        arraybuff arrest arrow ascend assert asynchron athlet atresia atrial audrey augment austrian autonom autopsi
        autoradiograph awar axe babi bach bacteriophag bad ball ban bankman banner baron basal bbc beam beat begun
        belief bell ben benefici besid bet bilater biliari bilirubin biochem blank blasius bleed blind blob blow
        boat bob boiler bollywood bond bonn bonus boom boston bowl br bradi brand breakdown breath breed brien
        broken brotherhood brows bubbl budget bulk bunch burn burton buy bypass byzantin cabinet cach calcium calibr
        callback campus cantilev cap capillari capsul caption card cardiovascular carolina carotid carrier cascad
        castl cat catheter caviti cbssport ceas centrifug ceo cerebrospin champion chanc chapman chemotherapi chest
        chiang chick chiefli chlorid choke chordwis christma christoph chromatographi chromosom circuit cite
        clearanc clinton clip closer closur cm coal col collabor colon colour combust comic comma commit communist
        compact compens comprehens compromis conceiv conceptu concert concret concurr confin confus congreg congress
        connecticut conquer conquest consecut consult consum consumpt contemporari continuum contour controversi
        cook cooki coolant cord coronari cortic corticosteroid cortison couett counterpart cousin createel creation
        creativ creator crocco crow crucial cruis crusad crypto csf csp cultiv cumul cure cursor cyst cytolog
        cytotox da dalla dandi danish databas dave davi deaf dealt dean debug deceler decod decor dedic deficit
        degener demon deni denmark dens departur depict deplet deprec depriv deputi des deterior detroit development
        diagram dialog diamond dictionari digest dilat dilut dimensionless dioxid directori dis discharg discoveri
        discrimin disk dismiss disney divers doctor documentari domexcept don donor doubt download downtown downwash
        draft dramat drew dri drink driven drum drummer du duo duplic dutch duti dvd dwarf dwarfism eagl earl
        earliest earn eas easi easier eat eccentr ed eddi edema edict eeg egg eggleston ego egypt eighth el elector
        electrolyt electromagnet electrophoresi elementari eleven elicit elit ellips elsewher em embed embryo emerg
        emiss emit employe enclos encompass engadget enjoy entropi environment epithelium erythematosus erythrocyt
        et ethnic euler everywher evolut exercis exert exil expedit expens expert exploit expon extracellular
        extracorpor extrahepat extrapol factori faith fallback fame fantasi fashion fate favour fear feed feet
        festiv fetus fever fewer fiber fibril fibrosi fifti fig fighter filariasi filtrat fin financ finger flag
        fled flexbox flexur florida flower fluoresc flux folk foo forest fought fourier franchis francisco frank
        fred freestream freez fresh fri friday frozen ftx fuller func fusion garden gari gather gaug gemini gen gene
        generic geograph georgia gestat gl glass globulin glomerular goe golden graft gram granul gravit greek grey
        grown guarante guardian guest guidanc guidelin gust guy habit hamster han hank hardwar harmon harold harri
        hawaii hd heal healthi hello hemianopia hemodynam hemophil hemophilia herald heritag hero heterogen hg hgh
        hide hierarchi highlight hindi hint historian hole homolog hong honolulu honor horror hors hostil hub huge
        humor hunt hydrodynam hydrogen hydrostat hyperbol hypertens hypophysectom hypothes hypoxia ibm icon identif
        ideolog illeg illinoi immatur immigr imposs impuls inact inactiv inadequ inclin incompat incomplet incur
        inde indi indigen ineffect inertia infanc infecti infer inferior infiltr infinitesim inflammatori inflat
        info infrastructur inher inheritancediagram inhibitor inhibitori injur inlet inocul inorgan insight
        instantan insur intak intent interior interstiti interview intestin intim intl intra intracellular
        intracrani invad invas invent invest investor invit ioniz irish iron irregular irrespect isaac isentrop
        isotherm isotop isotrop isra jamaican jason jean jersey jim jin job jone joseph journalist jpg jr junction
        junior justif kai kevin kid kinemat kirk kong korea labor labour lag lake landscap lane lar latest lawrenc
        lawyer le legaci legend legislatur legitim lens lesser lewi licens lifetim lighthil likewis limb literari
        lobe lock logarithm longest loos lord lot loui lupus ly lymph lymphoid lyric ma macrophag magnetohydrodynam
        mainstream mainten mal mammari manchest manipul mari maria marin marker marriag martin maryland mask
        massachusett massiv matrix matt maxim mayor meant medal mediat medicin menu merchant mere merg merger merit
        meta metallica metastas metastat meter meyer mi miami microfilaria mike mild millisecond mine ministri
        minnesota mission mississippi mitochondria mitot mitral modal modulus mongolian monitor mr municip murder
        mutant mutat namespac nant narrow naval navier nba necess necessit negoti neighborhood neighbour neoplasm
        nerv nervous nest netherland neurolog newspap nick nonequilibrium nonuniform normandi northeast northwest
        norway notat noth notif notion nova np nuclei nucleic ob obscur obstacl occipit occlus occup ocean ocular
        offens ogiv ontario onto opinion opportun optim orang organis orific orthotrop oseen outstand overcom
        overlap overrid owner oxid pacif packag packet paid pain painter palac palat param parasit pari pars partit
        partner passeng patent pathway paus pay peer penalti penetr pennsylvania peptid perceiv perez perige
        perpendicular perspect pertain pertin phage phagocyt phone phospholipid phosphorus physician pick pierr
        pioneer pitot pivot pizza placenta planet pneumonia poet polar porcupin posterior postop postul potassium
        pound precipit preclud precursor prefix prematur presidenti prevail princ prioriti prison prize proclaim
        professor profound prohibit prolif proof prospect proven provis proxi prussia psychiatr psychosi psychot
        pull puls purchas purifi pursu qualifi quantum queen quot radic radii radiograph raiken rajendra ran rankin
        ration raw rayleigh reabsorpt readabl readi readonlyinlin realiti reattach rebecca receptor recess recognis
        recombin recruit rect rectangl recur recurr referenc refuge refus regener regga regurgit reign reinforc
        reliev religion reload reloc remak remiss remot renam renew repair replic reproduc resect reservoir reset
        residenti residu resign resolut respir restaur restraint revenu revert reviv rgb ride rigor rival roar roger
        romant rotor roy rumor runtim russia ryan safeti samuel sandwich sarah sarcoma satisfactorili satur saudi
        saw scan scatter scene schizophren schizophrenia screenwrit se seal secretari secular sediment seek selenium
        semant semiempir senat senior sentenc sequel sera serolog settler seventh sexual shallow shek shield shop
        shorten shorter shorthand shot shroud sibl sid silver simon simplest simplic simplif singular sink sinus
        sion sitcom sixth skelet ski skill skip slab sleep slice slip slipstream smallest smith snippet soap soft
        softwar solar soldier sort sought soviet spanish spatial speaker spec spell spend spent spin spinal spirit
        spite sponsor spot spring stack stadium staff stain stall stan stanley stem stenosi stephen steve steven
        stimuli stimulus stock stone stretch stringer strip stronger stylesheet subcutan sublay subtitl successor
        sugar sum sunday supplement surpris survivor suscept suspect suspens sustain sweden swift symptomatolog
        synthes tain taiwan talent talk taller tax teach teacher tech ted telugu temporari tentat testosteron texa
        textur tfeu thead theater theatr theme theorem thereaft therebi thesi thicken thirteen thirti thousand
        threat threaten throat throne thymus tie tient tilt tim timestamp tone tostr touch tournament traffic
        trajectori tran transpar transpir traumat treaci tribe trim trip tripl tritiat troubl truncat trust
        tuberculosi tubul tubular tuesday turnov tutori twist ug un unabl unaffect uncertain unchang undergradu
        understood undertaken undisturb unexpect univers unlimit unrel unset unstabl unswept upris uptak urban urea
        usa usabl valvular variant vasopressin vein ventil venu verbal verif versus vertebr vertex vice vike villag
        violat violenc violent virginia vision visit vistula vital vocal vtol vulner wait walk walt wasm wast wat
        watch watt weaken webdriv webextapiref webextens webextexampl webglrenderingcontext webgpu webrtc webxr
        welcom welsh whenev wherebi widespread wigger wiki wikipedia wild winner worship worst worth wrestl wright
        wrong xml yellow yes younger youngest youth zealand""",
    10: """abbrevi aberr abrupt accid actinomycin adenoma adjunct adrenalectomi advic african aftermath afterward
        aileron alabama alameda alex aliv alkalin alleg allen allevi alloxan altman amateur amen anc ancestor anemia
        anemomet anesthesia angiocardiographi antagonist anthoni anticip apex appendchild approv approx aqueous
        arabia arena argon arial arithmet arthur ascit asian asid asymmetr atrophi atyp austria autoimmun autosom
        aviat azmi backward baltimor barbera baselin basophil bassist beer beneath benjamin biggest bile billboard
        bin biplan blend blockad blockag bluff boil bold bought brian broke buffet bureau businessman cal calculus
        calendar cambridg camera camp cape captain carbohydr carol cataract cbs cellulos certif chairman chatgpt
        checkbox chelsea choe choi chose christchurch chunk cinema circulatori cirrhosi citrat civilian clarifi
        classif climb clone cnbc cns coat codec cognit collis complementari confucian constrain contin contributor
        cor corrupt coup creek crew cri crossflow cruciform crude crush crystal csssyntax cubic cx cziffra dale dark
        db deadliest deem def defenc deg degrad dehydrogenas democraci dental deoxyribonucl descent destabil
        determinist di diminut dir disagr disast disproportion disrupt dissemin distal diuret dollar door dougla
        dream ear electrophoret eleventh elig email endocrin endogen envelop enzymat erect estrogen feedback fellow
        ferri fifa flame flare floor foreach forth forti frontman fruit gamma gasdynam gastrointestin geza gone gray
        gun hanna heinkel helper helvetica hetfield hing hunter hybrid hypophysectomi hypopituitari hypotherm
        idiopath im imping innov instant interpol intraperiton invari invert jamaica journal jung kansa laid
        landlock leadership leg lifestyl linearis liner linux lion lopatto louisiana lumin mammalian mandatori
        maneuv mast matric mediadevic moral morgan msps murray muscular museum mysteri narrat nasal natasha navi
        nearest neck necropsi necrosi neighbor neoplast nephrogen ni nonvisc notch nth nusselt openai oppon outlet
        outward ownership oxford paralysi parenchyma password peculiar pen peninsula philosoph pipe placent pool
        popup portugues prasad preparatori px radiolog railway rapper realist reentri regain rel reson restrain
        resum revis reward rotari ruler saturday saxon scotia sephadex septum shabana shed shore simd slower smart
        specul steep subsid subsidiari subtract sulfat sung supersed sur surgeon surrend sweepback sweptback
        symptomat synchron tampa tap tb textarea thorough threshold thriller token toni toronto trader transfus
        tropic ulrich unfortun unicod untreat walter ward warhol weapon webvr whatev wheel widen worm""",
}
# For each stem, the binary logarithm of how many passages one must read to meet it.
COMMON: dict[str, int] = {stem: group for group, stems in _GROUPS.items() for stem in stems.split()}
# Those of them that are capitalised inside of sentences too: they name something wherever they stand.
NAMES: frozenset[str] = frozenset(
    """aaron abc adam africa ai alabama alameda alan alex ali allen altman amazon amber america american ami andrew
    angel anglo ann anthoni api appl april arab arabia arkansa arraybuff arthur asia asian atlant audrey august
    australia australian austria austrian azmi bach baltimor bankman baron bay bbc ben benjamin bob bollywood bonn
    boston bradi brian britain british brotherhood bunch burton byzantin california cambridg canada canadian cape
    carol carolina cathol cbs ceo charl chatgpt chelsea chiang china chines choe choi chris christchurch christian
    christoph clinton commiss confucian connecticut council counti creek crow crusad css cup cziffra dale dalla dan
    dandi daniel danish dave davi david dean decemb denmark detroit disney doc dom dougla duke dutch dvd earl ed
    edict edward eggleston egypt el elizabeth england english eu europ european februari feder fifa firefox florida
    fox franc francisco frank fred french friday ftx gari gemini georg georgia german germani github googl greek
    guardian guy han hank hanna harold harri harvard hawaii hd heinkel henri herald hetfield hindi hong honolulu
    html htmlelement http huguenot illinoi inc india indian intl ireland irish isaac islam islamist isra israel
    itali italian jack jamaica jamaican jame januari japan jason javascript jean jersey jim jin john johnson joseph
    jr js json juli june jung justic kai kansa kevin khan kirk kong korea korean kublai kyle lar latin lawrenc linux
    lion london lopatto lord los loui louisiana manchest march mari maria martin maryland massachusett matt mdn meta
    metallica miami michael mike minnesota mississippi mongol mongolian morgan mozilla mr msps museum muslim nant
    natasha nba netherland news newton nfl nick norman normandi norway nova novemb np octob ohio olymp ontario
    openai oxford pacif pari parliament paul pennsylvania perez peter pierr poland polish porcupin portugues prasad
    prussia queen raiken rajendra rebecca republ richard roar robert roger roman roy russia russian ryan saint sam
    samuel sarah saturday saudi saxon scotia scotland scott scottish secretari senat septemb shabana sid simd simon
    smith soviet spanish st stan stanley stephen steve steven sunday svg swift sydney taiwan tampa ted telugu texa
    tfeu thoma tim tom toni treaci tuesday ture tv typeerror ui uk ulrich unicod union url usa verg vike virginia
    vistula wale walt walter warhol warsaw washington wasm watt webassembl webdriv webgl webgpu webrtc webvr webxr
    welsh wigger wikipedia william wilson wright xml york yuan zealand""".split()
)
